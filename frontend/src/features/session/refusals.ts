/** Why single sign-on let nobody in, for whom it did not. The events have more. */
const SENTENCES = new Map(
  Object.entries({
    too_late:
      'The sign-in took too long, was begun in another browser, or single sign-on was changed meanwhile. Begin again.',
    provider_refused: 'The provider let nobody in.',
    provider_unreachable: 'The provider of single sign-on does not answer. Try again later.',
    no_user_name: 'The provider does not tell a name by which you could be known here.',
    email_not_verified: 'The provider does not say that it has verified your e-mail address.',
    no_role:
      'You are in no group that has a role here. Whoever manages the groups can change that.',
    no_such_user: 'You are no user here yet. An administrator adds you.',
    local_user:
      'You sign in by a password here. An administrator can change that to single sign-on.',
    other_account: 'Your name here belongs to another account of the provider.',
    sso_not_configured: 'There is no single sign-on here any more.',
    busy: 'Too many are signing in at this moment. Try again in a few seconds.',
  }),
);

export const refusedSentence = (code: string): string =>
  SENTENCES.get(code) ??
  'What the provider of single sign-on said cannot be used; the console’s events say why.';
