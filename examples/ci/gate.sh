#!/bin/sh
# A gate before a release: the workflow must still do what is expected of it, and the settings of the
# knowledge base must be those of the repository.
set -e
wf run --input query=hello --record run.jsonl --junit run.xml --expect 'run succeeded within 30s' --expect 'node "End" ran' --expect 'output query contains "hello"'
wf timeline run.jsonl -o md
kb pull Handbook > handbook.yml
kb plan handbook.yml --exit-code
