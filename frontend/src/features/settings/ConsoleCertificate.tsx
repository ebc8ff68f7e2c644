/** What browsers see when they reach the console: its own certificate, or one that they trust already. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type CertificateAndKey,
  certificatesQuery,
  checkCertificate,
  holdsFor,
  installCertificate,
  removeCertificate,
} from '@/api/certificates';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS } from '@/api/session';
import type { ConsoleCertificate as Told } from '@/api/types';
import { useThenAskAgain } from '@/api/useThenAskAgain';
import { Stamp } from '@/ui/Ago';
import { Ask } from '@/ui/Ask';
import { Card } from '@/ui/Card';
import { CopyInline } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';
import { PemField } from './PemField';
import classes from './settings.module.css';

const ORIGIN = {
  own: 'The console’s own authority, which no browser trusts unless its certificate is installed there',
  installed: 'Installed here',
  settings: 'The console’s settings (SHARDBOARD_TLS_CERT); replace that file to change it',
};
type Checked = CertificateAndKey & { told: Told };

export function ConsoleCertificate({ may }: { may: boolean }) {
  const { data, error } = useQuery(certificatesQuery);
  const [dialog, setDialog] = useState<'install' | 'remove'>();
  const [checked, setChecked] = useState<Checked>();
  const close = () => setDialog(undefined);
  const then = useThenAskAgain(certificatesQuery);
  const source = data?.console.source as keyof typeof ORIGIN | undefined;
  const why = may ? undefined : ROLE_FORBIDS;
  return (
    <div className={classes.form}>
      <Card title="Certificate of the console">
        <p className={classes.words}>
          Browsers and programs see it when they reach this page or the REST API. Agents do not
          depend on it: they know the console by its own authority.
        </p>
        {error && !data && <Alert color="red">{messageOf(error)}</Alert>}
        {!data && !error && <Skeleton height={120} />}
        {data && source && <CertificateFacts told={data.console} origin={ORIGIN[source]} />}
        <Group gap="xs" mt="sm">
          {source !== 'settings' && (
            <Button
              variant="default"
              disabled={!may || !data}
              title={why}
              onClick={() => setDialog('install')}
            >
              Install a certificate…
            </Button>
          )}
          {source === 'installed' && (
            <Button
              variant="default"
              disabled={!may}
              title={why}
              onClick={() => setDialog('remove')}
            >
              Back to the own one…
            </Button>
          )}
        </Group>
      </Card>
      {dialog === 'install' && <AskForFiles onChecked={setChecked} onClose={close} />}
      {checked && (
        <Ask
          title="Install this certificate?"
          action="Install"
          size="lg"
          onConfirm={() => then(installCertificate(checked))}
          onClose={() => setChecked(undefined)}
        >
          <CertificateFacts told={checked.told} />
          {!holdsFor(checked.told.names, location.hostname) && (
            <Alert color="yellow">
              It does not hold for {location.hostname}, by which you reach this page now: browsers
              will warn whoever comes by that name.
            </Alert>
          )}
          <span>
            It is shown from the next connection on; open ones stay. The key is kept in the
            console’s state directory, readable by its user alone.
          </span>
        </Ask>
      )}
      {dialog === 'remove' && (
        <Ask
          title="Back to the console’s own certificate?"
          action="Remove the installed one"
          severe
          onConfirm={() => then(removeCertificate())}
          onClose={close}
        >
          <span>
            Browsers that do not trust the console’s authority will warn again. The key of the
            installed certificate is deleted here.
          </span>
        </Ask>
      )}
    </div>
  );
}

function CertificateFacts({ told, origin }: { told: Told; origin?: string }) {
  return (
    <Facts
      items={[
        ...(origin ? [['From', origin] as const] : []),
        ['Holds for', told.names.join(', ')],
        ['Signed by', told.issuer],
        ['Until', <Stamp key="until" time={told.valid_until} />],
        [
          'SHA-256',
          <CopyInline key="sha256" text={told.fingerprint} label="Copy the fingerprint" />,
        ],
      ]}
    />
  );
}

interface AskForFilesProps {
  onChecked: (checked: Checked) => void;
  onClose: () => void;
}

function AskForFiles({ onChecked, onClose }: AskForFilesProps) {
  const [certificate, setCertificate] = useState('');
  const [key, setKey] = useState('');
  const check = async () => {
    onChecked({ certificate, key, told: await checkCertificate({ certificate, key }) });
  };
  return (
    <Ask
      title="Install a certificate"
      action="Check…"
      size="lg"
      disabled={!certificate.trim() || !key.trim()}
      onConfirm={check}
      onClose={onClose}
    >
      <PemField
        label="Certificate and its chain (PEM)"
        description="The console’s own first, then those that signed it, one after another."
        value={certificate}
        onChange={setCertificate}
      />
      <PemField
        label="Private key (PEM)"
        description="Without a passphrase."
        value={key}
        onChange={setKey}
      />
    </Ask>
  );
}
