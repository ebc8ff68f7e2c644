/** API of the console certificate and of the certificates between nodes. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { Certificates, ConsoleCertificate } from '../types';

const PATH = '/v1/cluster/certificates';

/** Name of the console certificate in the API. Other names refer to the same certificate. */
const NAME = 'api';

export const certificatesQuery = queryOptions({
  queryKey: ['certificates'],
  queryFn: getQuery<Certificates>(PATH),
  staleTime: 0,
});

/** Certificate chain and private key, in PEM format. */
export interface CertificateAndKey {
  certificate: string;
  key: string;
}

const put = ({ certificate, key }: CertificateAndKey, query: string) =>
  request<ConsoleCertificate>('PUT', `${PATH}${query}`, {
    certificates: [{ name: NAME, certificate, key }],
  });

/** Validate a certificate and return its fields without installing it. */
export const checkCertificate = (files: CertificateAndKey) => put(files, '?dry_run=true');

export const installCertificate = (files: CertificateAndKey) => put(files, '');

/** Renew the certificates of all encrypted databases. */
export const rotateCertificates = () => request<unknown>('POST', `${PATH}/rotate`, {});

/** Replace the CAs of all encrypted databases. Afterwards, shards reject all earlier certificates. */
export const replaceDatabaseCas = () =>
  request<unknown>('POST', `${PATH}/rotate`, { authority: true });

export const removeCertificate = () => request<unknown>('DELETE', `${PATH}/${NAME}`);

/** Return whether a certificate is valid for a host, as browsers match it: `*` in `*.example.com` matches one label. */
export function matchesHost(names: readonly string[], host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  const wildcard = name.replace(/^[^.]+/, '*');
  return names.some((each) => [name, wildcard].includes(each.toLowerCase()));
}
