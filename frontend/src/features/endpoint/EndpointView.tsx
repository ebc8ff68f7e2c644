/** Endpoint tab of a database: address, connection snippets, proxies, charts and commands. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { endpointQuery } from '@/api/databases/endpoints';
import { messageOf } from '@/api/http';
import type { Bdb, Endpoint } from '@/api/types';
import { useTopic } from '@/live/LiveProvider';
import { Card } from '@/ui/Card';
import { CopyInline } from '@/ui/Copy';
import { EmptyState } from '@/ui/EmptyState';
import { Facts } from '@/ui/Facts';
import { PageSkeleton } from '@/ui/Skeletons';
import { useZone } from '@/ui/useZone';
import { CommandTable } from './CommandTable';
import { ConnectionSnippet } from './ConnectionSnippet';
import { connectionOf, hostPort } from './connectionSnippets';
import classes from './endpoint.module.css';
import { authenticationText, modeText, oldAddresses, policyText, tlsText } from './endpointText';
import { ProxyTable } from './ProxyTable';

/** Shorter than the interval of the query, because users who change something here wait for the result. */
const REFETCH_INTERVAL_MS = 2_000;

interface Props {
  bdb: Bdb;
  /** Renders the charts of the endpoint's metrics. */
  charts: (endpoint: Endpoint) => ReactNode;
}

export function EndpointView({ bdb, charts }: Props) {
  const { data: endpoint, error } = useQuery({
    ...endpointQuery(bdb.uid),
    refetchInterval: REFETCH_INTERVAL_MS,
  });
  if (bdb.status === 'pending' || bdb.status === 'creation-failed') {
    return (
      <EmptyState title="The endpoint is not available yet">
        <span>It opens when the database is created.</span>
      </EmptyState>
    );
  }
  if (error && !endpoint) {
    return <EmptyState title="The endpoint could not be loaded">{messageOf(error)}</EmptyState>;
  }
  if (!endpoint) return <PageSkeleton />;
  return <OpenEndpoint bdb={bdb} endpoint={endpoint} charts={charts} />;
}

function OpenEndpoint({ bdb, endpoint, charts }: { endpoint: Endpoint } & Props) {
  useTopic('endpoints');
  const old = oldAddresses(bdb, useZone()).join('; ');
  const to = connectionOf(endpoint);
  return (
    <div className={classes.view}>
      <div className={classes.top}>
        <Card title="Endpoint">
          <Facts
            items={[
              [
                'Address',
                to && <CopyInline text={hostPort(to.addresses[0])} label="Copy address" />,
              ],
              ...(old ? [['Old address', old] as const] : []),
              ['Mode', modeText(endpoint)],
              ['Proxies', policyText(endpoint)],
              ['TLS', tlsText(endpoint)],
              ['Authentication', authenticationText(endpoint)],
            ]}
          />
        </Card>
        <Card title="Connect">
          {to ? <ConnectionSnippet to={to} /> : 'The endpoint has no address yet.'}
        </Card>
      </div>
      <Card title="Proxies" flush>
        <ProxyTable endpoint={endpoint} />
      </Card>
      {charts(endpoint)}
      <CommandTable bdb={bdb.uid} />
    </div>
  );
}
