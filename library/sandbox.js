// `import { startSandbox } from "kb-wf/sandbox"`: the double of the server.
import sandbox from "../dist/sandbox.cjs";

export const { startDouble: startSandbox } = sandbox;
