/** API of sign-ins of programs, which a user confirms with a short code. */
import { request } from '../http';
import type { WaitingDeviceLogin } from '../types';

const PATH = '/v1/device_logins';

/** Return the sign-in that waits with this code. Wrong codes are counted, so it is not a query that is repeated. */
export const findDeviceLogin = (code: string) =>
  request<WaitingDeviceLogin>('POST', `${PATH}/find`, { user_code: code });

export const decideDeviceLogin = (code: string, approve: boolean) =>
  request<unknown>('POST', `${PATH}/confirm`, { user_code: code, approve });
