/* Flags of other programs with ours for the same. */
import { didYouMean } from "../../lib/did-you-mean.ts";
import { own } from "../../lib/json.ts";

/** Flags, with those that a command may have for them, best first. */
const flags: Readonly<Record<string, readonly string[]>> = {
  "-n": ["--top-k", "--limit"],
  "-l": ["--limit", "--top-k"],
  "-f": ["--follow", "--inputs @FILE", "--input", "--output"],
  "-F": ["--follow", "--input"],
  "-w": ["--watch", "--follow"],
  "-r": ["--reverse"],
  "-A": ["--all"],
  "-d": ["--detach", "--input FILE"],
  "--data": ["--inputs", "--input FILE"],
  "--inputs-file": ["--inputs @FILE"],
  "--input-file": ["--inputs @FILE"],
  "--file": ["--text-file", "--files", "--input NAME=@FILE"],
  "--rename": ["--name"],
  "--type": ["--search-method", "--only"],
  "--event": ["--only"],
  "--events": ["--only"],
  "--mode": ["--doc-form", "--search-method"],
  "--ext": ["--include"],
  "--extension": ["--include"],
  "--mirror": ["--prune"],
  "--budget": ["--max-requests"],
  "--trials": ["--max-requests"],
  "--fail-under": ["--fail-if"],
  "--k": ["--top-k"],
  "--topk": ["--top-k"],
  "--auto-approve": ["--yes"],
  "--assume-yes": ["--yes"],
  "--model": ["--embedding-model", "--rerank-model"],
  "--outputs": ["--jq .outputs"],
  "--reporter": ["--junit FILE"],
  "--bail": ["--fail-fast"],
  "-x": ["--fail-fast"],
  "-j": ["--concurrency"],
  "--parallel": ["--concurrency"],
  "--workers": ["--concurrency"],
  "--jobs": ["--concurrency"],
  "-t": ["--only"],
  "--tags": ["--only", "--where"],
  "--group-by": ["--by"],
  "--interval": ["--by"],
  "--period": ["--by"],
  "--html": ["--output html"],
  "--markdown": ["--output md"],
  "--md": ["--output md"],
  "--jsonl": ["--output jsonl"],
  "--background": ["--detach"],
  "--no-wait": ["--detach"],
  "--threshold": ["--score-threshold"],
  "--min-score": ["--score-threshold"],
  "--score": ["--score-threshold"],
  "--batch": ["--each FILE"],
  "--async": ["--detach"],
  "--limit": ["--top-k"],
  "--max-items": ["--limit", "--top-k"],
  "--head": ["--limit"],
  "--tail": ["--limit"],
  "--method": ["--search-method"],
  "--metric": ["--measure"],
  "--metrics": ["--measure"],
  "--selector": ["--where", "--keyword"],
  "--filter": ["--only", "--where", "--keyword"],
  "--content": ["--text"],
  "--text": ["--content"],
  "--body": ["--inputs", "--text", "--content"],
  "--last": ["--since"],
  "--month": ["--since 30d"],
  "--week": ["--since 7d"],
  "--yesterday": ["--since yesterday"],
  "--tag": ["--only", "--where"],
  "--from": ["--since", "--at"],
  "--date": ["--at"],
  "--max-concurrency": ["--concurrency"],
  "--continue": ["--conversation-id"],
  "--session": ["--conversation-id"],
  "--thread": ["--conversation-id"],
  "-c": ["--conversation-id"],
  "--prompt": ["--query"],
  "--message": ["--query"],
  "--question": ["--query"],
  "-O": ["--dir", "--output-file"],
  "--to": ["--to-profile", "--until"],
  "--keep-last": ["--keep"],
  "--older-than": ["--keep"],
  "--days": ["--since"],
  "--technique": ["--indexing-technique", "--search-method"],
  "--query": ["--input query=VALUE", "--keyword"],
  "--template": ["--jq"],
  "--fields": ["--columns"],
  "--format": ["--output"],
  "--yaml": ["--output yaml"],
  "--csv": ["--output csv"],
  "--tsv": ["--output tsv"],
  "--wide": ["--output wide"],
  "--search": ["--keyword"],
  "--grep": ["--keyword", "--only"],
  "--after": ["--since"],
  "--before": ["--until"],
  "--start": ["--since"],
  "--end": ["--until"],
  "--created-by": ["--account"],
  "--created-by-end-user-session-id": ["--end-user"],
  "--session-id": ["--end-user", "--conversation-id"],
  "--today": ["--since today"],
  "--name": ["--keyword", "--app"],
  "-e": ["--input"],
  "--env": ["--input"],
  "--param": ["--input"],
  "--arg": ["--input"],
  "--variable": ["--input"],
  "--params": ["--inputs"],
  "--payload": ["--inputs"],
  "--values": ["--inputs"],
  "--args": ["--inputs"],
  "--variables": ["--inputs"],
  "--vars": ["--inputs"],
  "--stdin": ["--key-file -"],
  "--password-stdin": ["--key-file -"],
  "--username": ["--user"],
  "--order-by": ["--sort"],
  "--per-page": ["--limit"],
  "--page-size": ["--limit"],
  "--title": ["--name"],
  "-k": ["--top-k", "--only"],
  "-a": ["--all"],
  "--context": ["--profile"],
  "--force": ["--yes"],
  "--confirm": ["--yes"],
  "--debug": ["--verbose"],
  "--silent": ["--quiet"],
  "--no-color": ["--color never"],
  "--no-colour": ["--color never"],
  "--watch": ["--follow"],
  "--delete": ["--prune"],
  "--url": ["--base-url"],
  "--host": ["--base-url"],
  "--server": ["--base-url"],
  "--inputs": ["--input"],
  "--var": ["--input"],
  "--set": ["--input"],
};

/** Of deletes, `-f` is that of rm. */
const forced = "-f";

/** The flag for one of another program, of those that a command has. */
export const flagElsewhere = (flag: string, known: readonly string[]): string | undefined =>
  flag === forced && known.includes("--if-exists")
    ? "--yes"
    : own(flags, flag)?.find((each) => known.some((name) => name === each.split(" ")[0]));

/** The flag for one of another program that is misspelled: `--methode`. */
export function flagNearElsewhere(flag: string, known: readonly string[]): string | undefined {
  const others = Object.keys(flags).filter((each) => flagElsewhere(each, known));
  const near = flag.length > 7 ? didYouMean(flag, others) : undefined;
  return near && flagElsewhere(near, known);
}

/** Flags that would put a key where others can read it. */
export const keyFlags = [
  "--api-key",
  "--key",
  "--token",
  "--password",
  "--with-token",
  "--secret",
  "--app-key",
  "--api-token",
  "--apikey",
  "--access-token",
];

/** Flags that ask for what is the default, with our flag that turns it off. */
export const flagsOff: Readonly<Record<string, string>> = {
  "--overwrite": "--no-duplicate",
  "--replace": "--no-duplicate",
};

/** Flags for what is a field of the settings of a search here. */
export const searchFields: Readonly<Record<string, string>> = {
  "--top-k": "top_k",
  "--search-method": "search_method",
  "--method": "search_method",
  "--score-threshold": "score_threshold",
  "--threshold": "score_threshold",
};

/** Flags for what is a field of `--process-rule` here. */
export const chunkingFlags: readonly string[] = [
  "--chunk-size",
  "--size",
  "--max-tokens",
  "--max-token",
  "--separator",
  "--chunk-overlap",
  "--overlap",
];

/** The value of `--process-rule` for chunks of so many tokens. */
export const chunkingRule = (tokens: string): string =>
  `{"mode":"custom","rules":{"pre_processing_rules":[],"segmentation":{"separator":"\\n\\n","max_tokens":${tokens}}}}`;

/** Filters a search by a metadata field (server §15). */
export const filteredSearch =
  '{"search_method":"semantic_search","reranking_enable":false,"top_k":5,"score_threshold_enabled":false,"metadata_filtering_conditions":{"logical_operator":"and","conditions":[{"name":"FIELD","comparison_operator":"is","value":"VALUE"}]}}';
