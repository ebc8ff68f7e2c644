import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { forgetUser, sessionQuery } from './session';
import { offerQuery } from './sso';

it('forgets what somebody was told, and keeps under the sign-in page what it shows', () => {
  const client = new QueryClient();
  client.setQueryData(['bdbs'], []);
  client.setQueryData(offerQuery.queryKey, { name: 'Example' });
  forgetUser(client);
  expect(client.getQueryData(['bdbs'])).toBeUndefined();
  expect(client.getQueryData(sessionQuery.queryKey)).toBeUndefined();
  expect(client.getQueryData(offerQuery.queryKey)).toEqual({ name: 'Example' });
});
