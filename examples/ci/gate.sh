#!/bin/sh
# A check before a release: the workflow must meet its expectations, and the settings of the knowledge
# base must match the file in the repository.
set -e
rm -f run.jsonl # recordings are never overwritten
wf run --input query=hello --record run.jsonl --junit run.xml --expect 'run succeeded within 30s' --expect 'node "End" ran' --expect 'output query contains "hello"'
wf timeline run.jsonl -o md
[ -f handbook.yml ] || kb pull Handbook > handbook.yml # commit the file that the first run writes
kb plan handbook.yml --exit-code
