import type { Case } from "./simulate.ts";

/** Cases that failed once, each with the bug that it found. Their faults are named by the step they strike. */
export const cases: readonly Case[] = [
  // A delete was sent and the server ended; that no retry could connect did not mean that nothing was deleted.
  {
    scenario: "each",
    seed: 5,
    faults: ["restart after @ each 0: DELETE /v1/datasets/ID/documents/ID 3"],
  },
  // A row that was sent again without a response counted as done.
  {
    scenario: "each",
    seed: 321,
    faults: ["restart before @ each 0: POST /v1/datasets/ID/document/create-by-text 5"],
  },
  // With a full disk, a batch that continued forgot the rows it had sent, and sent them again.
  {
    scenario: "each",
    seed: 572,
    faults: [
      "half body @ each 0: POST /v1/datasets/tags 6",
      "full disk @ each 1: append /home/user/state/each-15621476f1c985479ddcc07f540ace2c.jsonl 1",
    ],
  },
  // A program that followed late said nothing of an output whose text was sent before.
  { scenario: "follow", seed: 7, faults: [] },
  // With a full disk, results were forgotten that were not saved.
  {
    scenario: "tests",
    seed: 103,
    faults: [
      "full disk @ tests 0 --shard 1/2 --save /home/user/shard-1.json: write /home/user/shard-1.json.tmp 1",
    ],
  },
  // The journal was deleted before the last results were printed.
  {
    scenario: "each",
    seed: 3797,
    faults: ["429 @ each 0: POST /v1/datasets/tags 2", "kill @ each 0: stdout 2"],
  },
  // An interrupt while the journal was read counted as an empty journal, which replaced it.
  {
    scenario: "each",
    seed: 5157,
    faults: [
      "full disk @ each 0: append /home/user/state/each-618498f00839bb0fa9c05927dc678b0d.jsonl 8",
      "interrupt @ each 1: read /home/user/state/each-618498f00839bb0fa9c05927dc678b0d.jsonl 1",
    ],
  },
  // A rename was made, and a step after it failed: the row counted as failed, and could not be sent again.
  {
    scenario: "each",
    seed: 5029,
    faults: [
      "502 before @ each 0: GET /v1/datasets/ID/documents/ID 19",
      "restart before @ each 0: GET /v1/datasets/ID/documents/ID 23",
    ],
  },
  // An interrupted import found the knowledge base that a lost response had created, and lost it again.
  {
    scenario: "snapshot",
    seed: 102,
    faults: [
      "twice @ copy 0",
      "kill @ copy 0: stat /home/user/state/imports/64c46e8fba6603ebe1d8aec721d558b1.json 1",
      "kill @ copy 0 again: response to POST /v1/datasets 1 1",
      "502 before @ copy 1: POST /v1/datasets/ID/metadata 1",
      "kill @ copy 2: realpath /home/user/export 4",
      "reset after @ copy 3: POST /v1/datasets/ID/document/create-by-text 5",
      "kill @ copy 3: POST /v1/datasets/ID/document/create-by-text 6",
    ],
  },
  // Two imports into one name filled it at once.
  { scenario: "snapshot", seed: 18, faults: ["twice @ copy 0"] },
  // A manifest that was not read, because of an interrupt, was called damaged.
  {
    scenario: "snapshot",
    seed: 3,
    faults: [
      "kill @ copy 0: realpath /home/user/cache/copies/01095aa2941734ba72ad8458dc5dbf9f/documents/e.md 1",
      "503 after @ copy 1: POST /v1/datasets 1",
      "interrupt @ copy 2: read /home/user/cache/copies/01095aa2941734ba72ad8458dc5dbf9f/manifest.json 1",
    ],
  },
  // The summary of an export claimed the runs of the moment of its response, which was a second later than the rows.
  {
    scenario: "logs",
    seed: 879,
    faults: [
      "silent body @ export 0: GET /v1/workflows/logs 1",
      "delay @ export 0: GET /v1/workflows/logs 2",
      "delay @ export 0: GET /v1/workflows/logs 3",
      "delay @ export 0: GET /v1/workflows/logs 4",
      "runs before @ 1",
      "burst @ 1 before",
      "delay @ export 1: GET /v1/workflows/logs 4",
      "502 after @ export 1: GET /v1/workflows/logs 5",
      "502 before @ export 2: GET /v1/workflows/logs 3",
      "delay @ export 2: GET /v1/workflows/logs 5",
      "runs meanwhile @ 3",
    ],
  },
  // No bug of the programs: a rename that began when another one had done all rows rightly found none of the old names.
  { scenario: "each", seed: 6380, faults: ["twice @ each 0"] },
  // Two exports into one directory at once: the manifest of one named a file of the other.
  {
    scenario: "snapshot",
    seed: 2906,
    faults: [
      "full disk @ export 0: write /home/user/export/documents/d.md.tmp 1",
      "edited meanwhile @ export 1",
      "502 after @ export 1: GET /v1/datasets/ID/documents/ID 1",
      "504 after @ export 1: POST /v1/datasets/ID/documents/download-zip 1",
      "edit @ a.md export 1 meanwhile",
      "twice @ export 1",
      "full disk @ export 1 again: write /home/user/export/documents/c.md.tmp 1",
    ],
  },
  // A copy that could not write its lock, because the disk was full, went on beside another one.
  {
    scenario: "snapshot",
    seed: 4970,
    faults: [
      "restart after @ copy 0: GET /v1/datasets/ID/documents/ID 5",
      "edited meanwhile @ copy 1",
      "twice @ copy 1",
      "full disk @ copy 1 again: write /home/user/cache/copies/566a49d16e2ce63d991b8dbe5cadabfd/documents/d.md.tmp 1",
      "twice @ copy 2",
      "full disk @ copy 2: lock /home/user/cache/copies/566a49d16e2ce63d991b8dbe5cadabfd.lock: write 1",
      "502 after @ copy 2 again: GET /v1/datasets/ID/metadata 1",
      "reset after @ copy 2 again: GET /v1/datasets/ID/documents/ID 2",
    ],
  },
  // No bug of the programs: the server tells only those who follow at that time that the run was stopped.
  { scenario: "follow", seed: 3076, faults: ["stop @ run"] },
  // Two commands wrote one journal: that of a suite, whose lock the full disk did not take.
  {
    scenario: "tests",
    seed: 6910,
    faults: [
      "twice @ tests 0",
      "full disk @ tests 0: lock /home/user/state/suite-020b89102765cb9625861e93ead4903b.jsonl.lock: write 1",
      "504 after @ tests 0: POST /v1/chat-messages 3",
      "silent body @ tests 0 again: POST /v1/chat-messages 3",
      "reset before @ tests 0 again: POST /v1/chat-messages 4",
      "restart before @ tests 0 again: POST /v1/chat-messages 7",
      "full disk @ tests 0 again: append /home/user/state/suite-020b89102765cb9625861e93ead4903b.jsonl 3",
      "kill @ tests 0 again: POST /v1/chat-messages 8",
    ],
  },
  // An interrupt while a snapshot was read counted as a snapshot that cannot be read.
  {
    scenario: "backups",
    seed: 69,
    faults: [
      "edit @ edit a.md first",
      "edit @ disable a.md first",
      "edit @ edit b.md first",
      "edit @ delete c.md first",
      "interrupt @ undo 1: stat /home/user/backups/snapshots/6e859f92-b78b-4c42-89b7-ea07797db79e/20260301T120200Z-1b93578a.json 2",
    ],
  },
  // One error page in place of events that a proxy had held back lost them, with exit code 0.
  {
    scenario: "follow",
    seed: 153,
    faults: [
      "reset after @ run 0: GET /v1/workflow/ID/events 1",
      "held response @ run 0: GET /v1/workflow/ID/events 2",
      "504 after @ run 0: GET /v1/workflow/ID/events 3",
    ],
  },
  // The same after a line that was silent.
  {
    scenario: "follow",
    seed: 435,
    faults: [
      "silence before @ run 0: GET /v1/workflow/ID/events 1",
      "reset before @ run 0: GET /v1/workflow/ID/events 2",
    ],
  },
  // A document that is disabled and archived was disabled again by each restore, which locked it.
  { scenario: "statuses", seed: 9, faults: [] },
  // A start without a response took the run of a repeat, so that one answer counted twice.
  { scenario: "tests", seed: 379, faults: ["delay @ tests 0: POST /v1/workflows/run 2"] },
  // A comparison with an export waited for a pipe in the place of a file of chunks.
  { scenario: "damage", seed: 24, faults: ["run @ verify"] },
];
