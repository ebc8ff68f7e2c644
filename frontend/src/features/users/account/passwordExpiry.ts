import { plural } from '@/lib/format';

const DAY = 86_400_000;
const SOON_DAYS = 14;

/** Return a reminder that the user's password expires within two weeks; undefined if it expires later. */
export function expiryReminder(expiresAt: string, now: number = Date.now()): string | undefined {
  const days = Math.floor((Date.parse(expiresAt) - now) / DAY);
  if (days >= SOON_DAYS) return undefined;
  if (days < 0) return 'Your password has expired';
  return days ? `Your password expires in ${plural(days, 'day')}` : 'Your password expires today';
}
