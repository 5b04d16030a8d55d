import { kb } from "./kb.ts";
import { tasks } from "./task/command-spec.ts";
import type { Feature } from "./task/command-spec.ts";
import { wf } from "./wf.ts";

/** What both programs can do; the commands are named without the program. */
export const sharedFeatures: readonly Feature[] = [
  tasks("login profile config", () => import("./shared/login/command.ts"), {
    signIn: async () => (await import("./shared/login/login.ts")).login,
    profileList: async () => (await import("./shared/login/profile.ts")).listProfiles,
    profileShow: async () => (await import("./shared/login/profile.ts")).showProfile,
    profileUse: async () => (await import("./shared/login/profile.ts")).useProfile,
    profileRemove: async () => (await import("./shared/login/profile.ts")).removeProfile,
    configExplain: async () => (await import("./shared/login/profile.ts")).explainConfig,
  }),
  tasks("api", () => import("./shared/api/command.ts"), {
    api: () => import("./shared/api/api.ts"),
  }),
  tasks("doctor", () => import("./shared/doctor/command.ts"), {
    doctor: async () => {
      const { doctorOf } = await import("./shared/doctor/doctor.ts");
      return doctorOf({ kb, wf });
    },
  }),
  tasks("sandbox", () => import("./shared/sandbox/command.ts"), {
    sandbox: () => import("./shared/sandbox/sandbox.ts"),
  }),
  tasks("skill", () => import("./assistants/skill/command.ts"), {
    skillInstall: () => import("./assistants/skill/install.ts"),
  }),
  tasks("completion", () => import("./shared/completion/command.ts"), {
    bash: async () => (await import("./shared/completion/scripts.ts")).printScript("bash"),
    zsh: async () => (await import("./shared/completion/scripts.ts")).printScript("zsh"),
    fish: async () => (await import("./shared/completion/scripts.ts")).printScript("fish"),
    powershell: async () =>
      (await import("./shared/completion/scripts.ts")).printScript("powershell"),
  }),
];
