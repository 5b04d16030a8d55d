import { tasks } from "../task/command-spec.ts";
import type { Feature } from "../task/command-spec.ts";

/** What both programs can do; the commands are named without the program. */
export const sharedFeatures: readonly Feature[] = [
  tasks("login profile config", () => import("./login/command.ts"), {
    signIn: async () => (await import("./login/login.ts")).login,
    profileList: async () => (await import("./login/profile.ts")).listProfiles,
    profileShow: async () => (await import("./login/profile.ts")).showProfile,
    profileUse: async () => (await import("./login/profile.ts")).useProfile,
    profileRemove: async () => (await import("./login/profile.ts")).removeProfile,
    configExplain: async () => (await import("./login/profile.ts")).explainConfig,
  }),
  tasks("api", () => import("./api/command.ts"), {
    api: () => import("./api/api.ts"),
  }),
  tasks("doctor", () => import("./doctor/command.ts"), {
    doctor: () => import("./doctor/doctor.ts"),
  }),
  tasks("sandbox", () => import("./sandbox/command.ts"), {
    sandbox: () => import("./sandbox/sandbox.ts"),
  }),
  tasks("skill", () => import("./skill/command.ts"), {
    skillInstall: () => import("./skill/install.ts"),
  }),
  tasks("completion", () => import("./completion/command.ts"), {
    bash: async () => (await import("./completion/scripts.ts")).printScript("bash"),
    zsh: async () => (await import("./completion/scripts.ts")).printScript("zsh"),
    fish: async () => (await import("./completion/scripts.ts")).printScript("fish"),
    powershell: async () => (await import("./completion/scripts.ts")).printScript("powershell"),
  }),
];
