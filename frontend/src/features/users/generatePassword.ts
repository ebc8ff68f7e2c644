/** Password generator that uses the cryptographic random numbers of the browser. */

/** Character classes without letters and digits that look alike. */
const KINDS = ['abcdefghijkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.!'];
const ALL = KINDS.join('');
const LENGTH = 20;

/** Return a password with 117 bits of entropy and at least one character of each class, as password policies may require. */
export function generatePassword(): string {
  for (;;) {
    let password = '';
    while (password.length < LENGTH) {
      const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
      // Reject bytes above a multiple of the alphabet size, which would make some characters more likely.
      if (byte < 256 - (256 % ALL.length)) password += ALL[byte % ALL.length];
    }
    const has = (kind: string) => [...password].some((letter) => kind.includes(letter));
    if (KINDS.every(has) && !/(.)\1{3}/.test(password)) return password;
  }
}
