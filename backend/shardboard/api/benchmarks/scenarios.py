"""Endpoints of the library of scenarios."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Editor, ReadSession, Viewer
from shardboard.api.http.error_replies import error_responses
from shardboard.schemas.benchmarks import scenarios as schema
from shardboard.services.benchmarks import scenarios as service

router = ApiRouter(prefix="/v1", tags=["scenarios"])


@router.get("/scenarios", response_model=list[schema.ScenarioOut], responses=error_responses())
async def list_scenarios(_viewer: Viewer, session: ReadSession) -> JSONResponse:
    """Return the published benchmarks, and the largest scale at which this cluster can execute them."""
    return JSONResponse([schema.render(each) for each in await service.list_all(session)])


@router.get("/scenarios/{name}", response_model=schema.ScenarioOut, responses=error_responses(404))
async def get_scenario(_viewer: Viewer, session: ReadSession, name: str) -> JSONResponse:
    """Return a published benchmark, and the largest scale at which this cluster can execute it."""
    return JSONResponse(schema.render(await service.get(session, name)))


@router.post(
    "/scenarios/{name}/preflight",
    summary="Check scenario",
    response_model=schema.ScenarioPreflight,
    responses=error_responses(404, 406),
)
async def preflight_scenario(
    editor: Editor, session: ReadSession, name: str, body: schema.ScenarioSize
) -> JSONResponse:
    """Return what a scenario run would do: parts, time and memory, and the reasons why it cannot start. Nothing is stored.

    Required role: `admin`, `cluster_member`, or `db_member`, not limited to some databases.
    """
    return JSONResponse(schema.preflight(await service.plan(session, name, body.model_dump(mode="json"), editor)))
