#!/bin/sh
# A nightly job: a verified backup of the knowledge base, and a log with every run of the workflow once.
# Both continue where the previous night stopped.
set -e
kb export Handbook backup
kb verify backup Handbook
wf logs export runs.jsonl --state runs.state.json
wf stats --from runs.jsonl --fail-if 'failed>50%' --fail-if 'p95>1m'
