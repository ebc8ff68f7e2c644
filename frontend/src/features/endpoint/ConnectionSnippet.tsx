/** Connection snippet for the selected client. */
import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { CopyBlock } from '@/ui/Copy';
import { CLIENTS, type Connection, caDownloadCommand, LANGUAGES } from './connectionSnippets';
import classes from './endpoint.module.css';

export function ConnectionSnippet({ to }: { to: Connection }) {
  const [selected, select] = useState('valkey-cli');
  const client = CLIENTS.find(({ id }) => id === selected) ?? CLIENTS[0];
  if (!client) return null;
  return (
    <div className={classes.connect}>
      <NativeSelect
        aria-label="Client"
        value={client.id}
        onChange={(event) => select(event.currentTarget.value)}
        data={LANGUAGES.map((group) => ({
          group,
          items: CLIENTS.filter(({ language }) => language === group).map(({ id, label }) => ({
            value: id,
            label,
          })),
        }))}
      />
      {to.tls && (
        <CopyBlock
          text={caDownloadCommand(location.origin)}
          label="Copy the command that downloads the CA"
        />
      )}
      <CopyBlock text={client.snippet(to)} label={`Copy snippet for ${client.label}`} />
      <span className="dim small">
        {to.cluster
          ? 'Start with any address of the endpoint. The client discovers the others.'
          : 'Every address of the endpoint serves the complete database.'}
        {to.tls && " Clients verify the endpoint's certificate with the console CA (ca.pem)."}
      </span>
    </div>
  );
}
