/** Share of the samples that automatic contrast leaves out at each end. */
export const automaticShare = 0.001;

/** Colors, by the order of channels, for channels without a color of their own. At first, only as many channels are visible. */
export const channelColors = ['#ff0000', '#00ff00', '#0000ff', '#ffff00', '#ff00ff', '#00ffff'];

/** Usual colors of dyes, by words in the names of channels. The first match counts. */
const usualColors: readonly (readonly [RegExp, string])[] = [
  [/dapi|hoechst|\bbfp\b/i, '#0000ff'],
  [/fitc|\be?gfp\b|alexa ?(fluor )?488|\baf ?488|\bcy2\b/i, '#00ff00'],
  [
    /tritc|\bcy3\b|m?cherry|\brfp\b|tdtomato|rhodamine|texas ?red|alexa ?(fluor )?(546|555|568|594)|\baf ?(546|555|568|594)/i,
    '#ff0000',
  ],
  [/\bcy5\b|alexa ?(fluor )?(633|647)|\baf ?(633|647)|far ?red/i, '#ff00ff'],
  [/\be?cfp\b/i, '#00ffff'],
  [/\be?yfp\b|venus/i, '#ffff00'],
  [/bright ?field|transmi|phase|\bdic\b|\btl\b/i, '#ffffff'],
];

/** The color that the dye in the name of a channel usually has. */
export function usualColor(name: string): string | null {
  return usualColors.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}
