"""Results of a scenario: the tables and figures of its document, with the published and the measured values."""

from pydantic import BaseModel, Field

Value = float | str | None


class ResultColumn(BaseModel):
    name: str
    unit: str = Field(description="Empty for numbers without a unit and for text.")


class ResultRow(BaseModel):
    """A row of a table. Both lists have one value per column; null = unknown."""

    label: str
    published: list[Value] | None = Field(description="Values as printed in the document; null if it has no such row.")
    measured: list[Value] | None = Field(description="Null until the row was measured.")


class ResultTable(BaseModel):
    title: str
    columns: list[ResultColumn] = Field(description="Columns of the values, without the column of the labels.")
    rows: list[ResultRow]


class ResultFigure(BaseModel):
    """A single value, such as a ratio."""

    name: str
    unit: str
    published: Value = None
    measured: Value = None


class ResultSeries(BaseModel):
    """Points of a chart, in the order of the horizontal axis. Series with the same unit belong to the same chart."""

    name: str
    unit: str = Field(description="Unit of the vertical axis.")
    x_unit: str = Field(description="Quantity of the horizontal axis, such as `nodes`.")
    points: list[tuple[float, float]]
    ideal: bool = Field(description="Whether this is the ideal line and not a measurement.")


class ScenarioResult(BaseModel):
    """Published and measured results."""

    tables: list[ResultTable]
    figures: list[ResultFigure]
    deviations: list[str] = Field(description="Differences from the document, one sentence each.")
    series: list[ResultSeries]
