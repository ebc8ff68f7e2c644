/** Messages for failed single sign-on, by error code. The event log has the details. */
const MESSAGES = new Map(
  Object.entries({
    too_late:
      'The sign-in took too long, was started in another browser, or the settings of single sign-on have changed. Sign in again.',
    provider_refused: 'The provider rejected the sign-in.',
    provider_unreachable: 'The single sign-on provider does not respond. Try again later.',
    no_user_name:
      'The provider did not send your username. Ask an administrator to check the claim with the username.',
    email_not_verified: 'The provider did not confirm that your email address is verified.',
    no_role:
      'None of your groups has a role in this console. Ask an administrator of your groups for access.',
    too_many_groups:
      'You are in too many groups, so the provider did not send them. Ask an administrator; the event log contains the details.',
    no_such_user: 'You are not a user of this console yet. Ask an administrator to add you.',
    local_user:
      'You sign in to this console with a password. An administrator can change this to single sign-on.',
    other_account: 'Your username belongs to another account of the provider.',
    sso_not_configured: 'Single sign-on is no longer configured.',
    busy: 'Too many users are signing in. Try again in a few seconds.',
  }),
);

export const ssoErrorMessage = (code: string): string =>
  MESSAGES.get(code) ??
  'The response of the single sign-on provider is invalid. The event log contains the reason.';
