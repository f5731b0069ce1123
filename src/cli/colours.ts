type Paint = (text: string) => string;

export interface Colours {
  bold: Paint;
  dim: Paint;
  red: Paint;
  green: Paint;
  yellow: Paint;
  cyan: Paint;
}

/** Help is written with colours, which commander takes out again where the host has none. */
export const HELP_COLOURS: Colours = makeColours(true);

/** Whether there is colour is decided once, by the terminal and the flag; libraries would ask the environment. */
export function makeColours(on: boolean): Colours {
  const paint = (open: number, close: number): Paint =>
    on ? (text) => (text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`) : (text) => text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}
