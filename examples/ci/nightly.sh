#!/bin/sh
# What a nightly job keeps: a copy of the knowledge base that is proven to be the same, and every run
# of the workflow once. Both go on from where the last night stopped.
set -e
kb export Handbook backup
kb verify backup Handbook
wf logs export runs.jsonl --state runs.state.json
wf stats --from runs.jsonl --fail-if 'failed>50%' --fail-if 'p95>1m'
