/** Whether an environment variable is set to something other than empty, 0 or false. */
export const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false";
