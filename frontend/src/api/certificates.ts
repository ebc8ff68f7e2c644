/** The certificate that browsers and programs see when they reach the console, and those that shards show each other. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { Certificates, ConsoleCertificate } from './types';

const PATH = '/v1/cluster/certificates';

/** What the console's name is in the certificate's own calls: one of several that mean the same. */
const NAME = 'api';

export const certificatesQuery = queryOptions({
  queryKey: ['certificates'],
  queryFn: read<Certificates>(PATH),
  staleTime: 0,
});

/** PEM. */
export interface CertificateAndKey {
  certificate: string;
  key: string;
}

const put = ({ certificate, key }: CertificateAndKey, query: string) =>
  request<ConsoleCertificate>('PUT', `${PATH}${query}`, {
    certificates: [{ name: NAME, certificate, key }],
  });

/** What it says; nothing changes. */
export const checkCertificate = (wanted: CertificateAndKey) => put(wanted, '?dry_run=true');

export const installCertificate = (wanted: CertificateAndKey) => put(wanted, '');

/** For the shards of all encrypted databases. */
export const rotateCertificates = () => request<unknown>('POST', `${PATH}/rotate`, {});

/** Step by step; in the end nothing that was signed before opens a shard any more. */
export const replaceAuthorities = () =>
  request<unknown>('POST', `${PATH}/rotate`, { authority: true });

export const removeCertificate = () => request<unknown>('DELETE', `${PATH}/${NAME}`);

/** Whether it holds for a host as browsers see it: `*.example.com` stands for one label. */
export function holdsFor(names: readonly string[], host: string): boolean {
  const wanted = host.toLowerCase().replace(/^\[|\]$/g, '');
  const above = wanted.replace(/^[^.]+/, '*');
  return names.some((name) => [wanted, above].includes(name.toLowerCase()));
}
