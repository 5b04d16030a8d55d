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
];
