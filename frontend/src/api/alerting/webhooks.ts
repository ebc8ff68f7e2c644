/** API of the receivers of notifications. Requires an administrator. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { NewWebhook, Webhook, WebhookUpdate } from '../types';

const PATH = '/v1/webhooks';

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: getQuery<Webhook[]>(PATH),
  refetchInterval: 5_000,
});

export const createWebhook = (webhook: NewWebhook) => request<Webhook>('POST', PATH, webhook);

export const changeWebhook = (uid: number, changes: WebhookUpdate) =>
  request<Webhook>('PUT', `${PATH}/${uid}`, changes);

export const removeWebhook = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);

export const testWebhook = (uid: number) => request<unknown>('POST', `${PATH}/${uid}/test`, {});
