/** Page with the library of published benchmarks and their runs. */
import { useNavigate } from '@tanstack/react-router';
import { ScenarioLibrary } from '@/features/benchmarks/scenarios/ScenarioLibrary';
import { ScenarioRunTable } from '@/features/benchmarks/scenarios/ScenarioRunTable';
import { Card } from '@/ui/Card';
import classes from '../pages.module.css';
import { BenchmarkTabs } from './BenchmarkTabs';

export function ScenariosPage() {
  const navigate = useNavigate();
  return (
    <div className={classes.page}>
      <h1>Benchmarks</h1>
      <BenchmarkTabs />
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
