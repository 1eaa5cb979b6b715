/** Sets of statements that IIIF knows. */
const known =
  /^https?:\/\/((?:www\.)?creativecommons\.org\/(?:licenses|publicdomain)\/|rightsstatements\.org\/vocab\/)\S{1,200}$/i;

/** What metadata say of rights: an address of Creative Commons or RightsStatements.org, and whom to name. */
export function rightsOf(metadata: unknown): { rights?: string; attribution?: string } {
  if (typeof metadata !== 'object' || metadata === null) return {};
  const { rights, license, attribution } = metadata as Record<string, unknown>;
  const statement = [rights, license].find((value): value is string => typeof value === 'string' && known.test(value));
  return {
    // IIIF has the addresses with http, as their sets define them.
    ...(statement !== undefined && { rights: statement.replace(/^https?:\/\/(www\.)?/i, 'http://') }),
    ...(typeof attribution === 'string' && attribution !== '' && { attribution: attribution.slice(0, 1000) }),
  };
}
