/** Browsers by a substring of their User-Agent, the most specific ones first. */
const BROWSERS = [
  // Most User-Agents also contain Chrome and Safari, so these come last.
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** Return the name of the browser and system of a User-Agent, or the start of an unknown User-Agent. */
export function browserName(agent: string): string {
  const [, browser] = BROWSERS.find(([mark]) => agent.includes(mark)) ?? [];
  const [, system] = SYSTEMS.find(([mark]) => agent.includes(mark)) ?? [];
  if (!browser) return agent.slice(0, 60) || 'Unknown program';
  return system ? `${browser} on ${system}` : browser;
}
