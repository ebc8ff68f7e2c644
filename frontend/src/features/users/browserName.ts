/** What people call the browser behind a User-Agent; its own words where it is none that we know. */
const BROWSERS = [
  // Most call themselves Chrome and Safari, too: those come last.
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

export function browserName(agent: string): string {
  const [, browser] = BROWSERS.find(([mark]) => agent.includes(mark)) ?? [];
  const [, system] = SYSTEMS.find(([mark]) => agent.includes(mark)) ?? [];
  if (!browser) return agent.slice(0, 60) || 'Unknown program';
  return system ? `${browser} on ${system}` : browser;
}
