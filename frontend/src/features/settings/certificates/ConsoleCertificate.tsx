/** The HTTPS certificate of the console: issued by the console CA, installed, or configured with SHARDBOARD_TLS_CERT. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import {
  type CertificateAndKey,
  certificatesQuery,
  checkCertificate,
  installCertificate,
  matchesHost,
  removeCertificate,
} from '@/api/cluster/certificates';
import { messageOf } from '@/api/http';
import type { ConsoleCertificate as Certificate } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { CopyInline } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';
import { PemField } from '@/ui/forms/PemField';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import classes from '../settings.module.css';

const ORIGIN = {
  own: 'The console CA, which browsers trust only if you install it there',
  installed: 'Installed by an administrator',
  settings: 'The file in SHARDBOARD_TLS_CERT; replace the file to change the certificate',
};
type Checked = CertificateAndKey & { parsed: Certificate };

export function ConsoleCertificate({ may }: { may: boolean }) {
  const { data, error } = useQuery(certificatesQuery);
  const [dialog, setDialog] = useState<'install' | 'remove'>();
  const [checked, setChecked] = useState<Checked>();
  const close = () => setDialog(undefined);
  const invalidateAfter = useInvalidateAfter(certificatesQuery);
  const source = data?.console.source as keyof typeof ORIGIN | undefined;
  const reason = may ? undefined : ROLE_DENIED_TEXT;
  return (
    <div className={classes.form}>
      <Card title="Console certificate">
        <p className={classes.intro}>
          The web UI and the REST API serve this certificate to browsers and API clients. Agents do
          not depend on it: they verify the console with the console CA.
        </p>
        {error && !data && <Alert color="red">{messageOf(error)}</Alert>}
        {!data && !error && <Skeleton height={120} />}
        {data && source && <CertificateFacts parsed={data.console} origin={ORIGIN[source]} />}
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
      {dialog === 'install' && <InstallCertificateDialog onChecked={setChecked} onClose={close} />}
      {checked && (
        <SubmitDialog
          title="Install this certificate?"
          action="Install"
          size="lg"
          onConfirm={() => invalidateAfter(installCertificate(checked))}
          onClose={() => setChecked(undefined)}
        >
          <CertificateFacts parsed={checked.parsed} />
          {!matchesHost(checked.parsed.names, location.hostname) && (
            <Alert color="yellow">
              The certificate is not valid for {location.hostname}, the host name that you use now.
              Browsers will show a warning for this host name.
            </Alert>
          )}
          <span>
            New connections use the certificate; open connections stay open. The key is encrypted in
            the store.
          </span>
        </SubmitDialog>
      )}
      {dialog === 'remove' && (
        <SubmitDialog
          title="Remove the installed certificate?"
          action="Remove certificate"
          severe
          onConfirm={() => invalidateAfter(removeCertificate())}
          onClose={close}
        >
          <span>
            The console serves a certificate of the console CA again, and browsers that do not trust
            this CA show a warning. The key of the installed certificate is deleted.
          </span>
        </SubmitDialog>
      )}
    </div>
  );
}

function CertificateFacts({ parsed, origin }: { parsed: Certificate; origin?: string }) {
  return (
    <Facts
      items={[
        ...(origin ? [['Source', origin] as const] : []),
        ['Valid for', parsed.names.join(', ')],
        ['Signed by', parsed.issuer],
        ['Valid until', <Stamp key="until" time={parsed.valid_until} />],
        ['SHA-256', <CopyInline key="sha256" text={parsed.fingerprint} label="Copy fingerprint" />],
      ]}
    />
  );
}

interface InstallCertificateProps {
  onChecked: (checked: Checked) => void;
  onClose: () => void;
}

function InstallCertificateDialog({ onChecked, onClose }: InstallCertificateProps) {
  const [certificate, setCertificate] = useState('');
  const [key, setKey] = useState('');
  const check = async () => {
    onChecked({ certificate, key, parsed: await checkCertificate({ certificate, key }) });
  };
  return (
    <SubmitDialog
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
    </SubmitDialog>
  );
}
