/** Is a switch of the environment on? Empty, 0 and false are off. */
export const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false";
