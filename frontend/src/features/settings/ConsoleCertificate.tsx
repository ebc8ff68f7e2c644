/** The HTTPS certificate of the console: issued by the console CA, installed, or configured with SHARDBOARD_TLS_CERT. */
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
  own: 'The console CA, which browsers trust only if you install it there',
  installed: 'Installed by an administrator',
  settings: 'The file in SHARDBOARD_TLS_CERT; replace the file to change the certificate',
};
type Checked = CertificateAndKey & { told: Told };

export function ConsoleCertificate({ may }: { may: boolean }) {
  const { data, error } = useQuery(certificatesQuery);
  const [dialog, setDialog] = useState<'install' | 'remove'>();
  const [checked, setChecked] = useState<Checked>();
  const close = () => setDialog(undefined);
  const then = useThenAskAgain(certificatesQuery);
  const source = data?.console.source as keyof typeof ORIGIN | undefined;
  const reason = may ? undefined : ROLE_FORBIDS;
  return (
    <div className={classes.form}>
      <Card title="Console certificate">
        <p className={classes.words}>
          The web UI and the REST API serve this certificate to browsers and API clients. Agents do
          not depend on it: they verify the console with the console CA.
        </p>
        {error && !data && <Alert color="red">{messageOf(error)}</Alert>}
        {!data && !error && <Skeleton height={120} />}
        {data && source && <CertificateFacts told={data.console} origin={ORIGIN[source]} />}
        <Group gap="xs" mt="sm">
          {source !== 'settings' && (
            <Button
              variant="default"
              disabled={!may || !data}
              title={reason}
              onClick={() => setDialog('install')}
            >
              Install certificate…
            </Button>
          )}
          {source === 'installed' && (
            <Button
              variant="default"
              disabled={!may}
              title={reason}
              onClick={() => setDialog('remove')}
            >
              Remove installed certificate…
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
              The certificate is not valid for {location.hostname}, the host name that you use now.
              Browsers will show a warning for this host name.
            </Alert>
          )}
          <span>
            The certificate is served from the next connection on; open connections stay open. The
            key is stored in the console’s state directory, readable only by the user that runs the
            console.
          </span>
        </Ask>
      )}
      {dialog === 'remove' && (
        <Ask
          title="Remove the installed certificate?"
          action="Remove certificate"
          severe
          onConfirm={() => then(removeCertificate())}
          onClose={close}
        >
          <span>
            The console serves a certificate of the console CA again, and browsers that do not trust
            this CA show a warning. The key of the installed certificate is deleted.
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
        ...(origin ? [['Source', origin] as const] : []),
        ['Valid for', told.names.join(', ')],
        ['Signed by', told.issuer],
        ['Valid until', <Stamp key="until" time={told.valid_until} />],
        ['SHA-256', <CopyInline key="sha256" text={told.fingerprint} label="Copy fingerprint" />],
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
      title="Install certificate"
      action="Check certificate"
      size="lg"
      disabled={!certificate.trim() || !key.trim()}
      onConfirm={check}
      onClose={onClose}
    >
      <PemField
        label="Certificate chain (PEM)"
        description="Enter the certificate of the console first, then the certificates of the CAs that signed it, in order."
        value={certificate}
        onChange={setCertificate}
      />
      <PemField
        label="Private key (PEM)"
        description="The key must not have a passphrase."
        value={key}
        onChange={setKey}
      />
    </Ask>
  );
}
