/** Settings page: cluster settings, certificates, sign-in with external providers, and the support bundle. */
import { useMay } from '@/api/session';
import { ConsoleAuthority } from '@/features/settings/ConsoleAuthority';
import { ConsoleCertificate } from '@/features/settings/ConsoleCertificate';
import { Ldap } from '@/features/settings/Ldap';
import { PolicyForm } from '@/features/settings/PolicyForm';
import { ShardCertificates } from '@/features/settings/ShardCertificates';
import { SingleSignOn } from '@/features/settings/SingleSignOn';
import { SupportBundle } from '@/features/settings/SupportBundle';
import classes from './pages.module.css';

export function SettingsPage() {
  const may = useMay('administer');
  const seesAll = useMay('seeAll');
  const mayDebug = useMay('debug');
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Settings</h1>
      </div>
      <PolicyForm may={may} />
      {seesAll && <ConsoleCertificate may={may} />}
      {seesAll && <ConsoleAuthority may={may} />}
      {seesAll && <ShardCertificates may={may} />}
      {may && <SingleSignOn />}
      {may && <Ldap />}
      <SupportBundle may={mayDebug} />
    </div>
  );
}
