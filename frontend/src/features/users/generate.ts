/** Passwords from the browser's own source of randomness. */

/** Without letters and digits that look alike. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 20;

/** 115 bits. */
export function generatePassword(): string {
  let made = '';
  while (made.length < LENGTH) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    // Those above a multiple of the letters would make some letters likelier than others.
    if (byte < 256 - (256 % LETTERS.length)) made += LETTERS[byte % LETTERS.length];
  }
  return made;
}
