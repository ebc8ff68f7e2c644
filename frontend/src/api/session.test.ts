import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { forgetUser, sessionQuery } from './session';
import { offerQuery } from './sso';

it('clears the data of the user, but keeps data of the sign-in page', () => {
  const client = new QueryClient();
  client.setQueryData(['bdbs'], []);
  client.setQueryData(offerQuery.queryKey, { name: 'Example' });
  forgetUser(client);
  expect(client.getQueryData(['bdbs'])).toBeUndefined();
  expect(client.getQueryData(sessionQuery.queryKey)).toBeUndefined();
  expect(client.getQueryData(offerQuery.queryKey)).toEqual({ name: 'Example' });
});
