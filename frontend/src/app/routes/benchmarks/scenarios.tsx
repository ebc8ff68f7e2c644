/** Page with the library of published benchmarks and their runs. */
import { useNavigate } from '@tanstack/react-router';
import { ScenarioLibrary } from '@/features/benchmarks/scenarios/ScenarioLibrary';
import { ScenarioRunTable } from '@/features/benchmarks/scenarios/ScenarioRunTable';
import { Card } from '@/ui/Card';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function ScenariosPage() {
  const navigate = useNavigate();
  return (
    <div className={classes.page}>
      <SectionHead section="benchmarks" />
      <Card title="Scenario runs" flush>
        <ScenarioRunTable />
      </Card>
      <h2>Library</h2>
      <ScenarioLibrary
        onStarted={({ uid }) =>
          navigate({ to: '/benchmarks/scenarios/$uid', params: { uid: String(uid) } })
        }
      />
    </div>
  );
}
