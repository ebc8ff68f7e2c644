/** Passwords from the browser's own source of randomness. */

/** Without letters and digits that look alike. */
const KINDS = ['abcdefghijkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.!'];
const ALL = KINDS.join('');
const LENGTH = 20;

/** 117 bits; of each kind at least one, as clusters may want it. */
export function generatePassword(): string {
  for (;;) {
    let made = '';
    while (made.length < LENGTH) {
      const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
      // Those above a multiple of the letters would make some letters likelier than others.
      if (byte < 256 - (256 % ALL.length)) made += ALL[byte % ALL.length];
    }
    const has = (kind: string) => [...made].some((letter) => kind.includes(letter));
    if (KINDS.every(has) && !/(.)\1{3}/.test(made)) return made;
  }
}
