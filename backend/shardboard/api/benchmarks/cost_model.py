"""Endpoints of the cost model: the prices of RAM, flash, and nodes."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.schemas.benchmarks import cost_model as schema
from shardboard.services.benchmarks import cost_model as service
from shardboard.state.cluster import cluster

router = ApiRouter(prefix="/v1", tags=["benchmarks"])


@router.get("/benchmarks/cost_model", response_model=schema.CostModelSetting, responses=error_responses())
async def get_cost_model(_viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the prices with which the cost of RAM and flash is computed."""
    return JSONResponse(schema.render((await cluster.load(session)).cost_model))


@router.put("/benchmarks/cost_model", response_model=schema.CostModelSetting, responses=error_responses())
async def set_cost_model(admin: Admin, session: WriteSession, body: schema.CostModel) -> JSONResponse:
    """Set all prices. Required role: `admin`."""
    return JSONResponse(schema.render(await service.set_prices(session, body.model_dump(), admin)))
