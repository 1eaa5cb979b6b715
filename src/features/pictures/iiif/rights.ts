/** Matches the addresses of the rights statements that IIIF allows. */
const rightsUriPattern =
  /^https?:\/\/((?:www\.)?creativecommons\.org\/(?:licenses|publicdomain)\/|rightsstatements\.org\/vocab\/)\S{1,200}$/i;

/**
 * Reads rights from metadata of an item: `rights` or `license`, if it is an address of Creative Commons or RightsStatements.org,
 * and `attribution`, the text that names the author.
 */
export function rightsOf(metadata: unknown): { rights?: string; attribution?: string } {
  if (typeof metadata !== 'object' || metadata === null) return {};
  const { rights, license, attribution } = metadata as Record<string, unknown>;
  const statementAddress = [rights, license].find(
    (value): value is string => typeof value === 'string' && rightsUriPattern.test(value),
  );
  return {
    // IIIF requires the addresses with http and without www, as the publishers of the statements define them.
    ...(statementAddress !== undefined && { rights: statementAddress.replace(/^https?:\/\/(www\.)?/i, 'http://') }),
    ...(typeof attribution === 'string' && attribution !== '' && { attribution: attribution.slice(0, 1000) }),
  };
}
