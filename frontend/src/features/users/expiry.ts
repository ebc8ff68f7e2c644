import { plural } from '@/lib/format';

const DAY = 86_400_000;
const SOON_DAYS = 14;

/** That one's password expires soon, in a few words; nothing while there is time. */
export function expiryWords(expiresAt: string, now: number = Date.now()): string | undefined {
  const days = Math.floor((Date.parse(expiresAt) - now) / DAY);
  if (days >= SOON_DAYS) return undefined;
  if (days < 0) return 'Your password has expired';
  return days ? `Your password expires in ${plural(days, 'day')}` : 'Your password expires today';
}
