import { useEffect, useMemo, useRef, useState } from 'react';
import type uPlot from 'uplot';
import { useShownTheme, useZone, type Zone } from '../preferences.ts';
import { formatTime } from '../time.ts';
import { Figure, type Series } from './Figure.tsx';
import { loadPlot, type Plot } from './plot.ts';

// Begun at once, beside the calls for the figures that will be drawn; a failure is told where it is needed.
loadPlot().catch(() => undefined);

const HEIGHT_PX = 250;
const DAY_SECONDS = 86_400;
const Y_AXIS_PX = 64;
const X_AXIS_PX = 34;

export interface TimeChartProps {
  /** Spoken for the chart as a whole. */
  label: string;
  /** Where each bucket begins, in seconds. */
  times: readonly number[];
  series: readonly Series[];
  bars?: boolean;
  /** Days belong to UTC whatever zone is shown. */
  bucket: 'day' | 'hour';
  format: (value: number) => string;
}

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** What is drawn: stacked series carry the sum of those below them. */
function drawnValues(series: readonly Series[], stacked: boolean): Array<Array<number | null>> {
  if (!stacked) return series.map(({ values }) => [...values]);
  const sums: number[] = [];
  return series.map(({ values }) =>
    values.map((value, at) => {
      sums[at] = (sums[at] ?? 0) + (value ?? 0);
      return sums[at];
    }),
  );
}

function axisOptions(props: TimeChartProps, zone: Zone): uPlot.Axis[] {
  const stroke = css('--faint');
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const line = { stroke: css('--line'), width: 1 };
  return [
    {
      stroke,
      font,
      grid: { show: false },
      ticks: line,
      size: X_AXIS_PX,
      values: (_plot, splits, _axis, _space, step) =>
        splits.map((at) =>
          formatTime(at * 1000, step >= DAY_SECONDS ? 'day' : 'minute', step >= DAY_SECONDS ? 'utc' : zone),
        ),
      space: 96,
    },
    {
      stroke,
      font,
      grid: line,
      ticks: { show: false },
      size: Y_AXIS_PX,
      values: (_plot, splits) => splits.map((value) => props.format(value)),
    },
  ];
}

function plotOptions(
  Plot: Plot,
  props: TimeChartProps,
  zone: Zone,
  width: number,
  onHover: (at: number | null) => void,
): uPlot.Options {
  const bars = Plot.paths.bars?.({ size: [0.72, 48], radius: 0.08 });
  const half = (props.bucket === 'day' ? DAY_SECONDS : 3_600) / 2;
  const drawn = [...props.series].reverse();
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: !props.bars }, drag: { x: false, y: false } },
    padding: [12, 12, 0, 0],
    scales: {
      x: { time: true, range: (_plot, min, max) => (props.bars ? [min - half, max + half] : [min, max]) },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axisOptions(props, zone),
    series: [
      {},
      ...drawn.map(({ colour, dashed }) => ({
        stroke: props.bars ? 'transparent' : css(colour),
        ...(props.bars && { fill: css(colour) }),
        width: props.bars ? 0 : 2,
        ...(dashed && { dash: [6, 5] }),
        points: { show: false },
        spanGaps: false,
        ...(props.bars && bars && { paths: bars }),
      })),
    ],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  };
}

/** Values over time: bars stacked on one another, or lines. The legend tells the values under the cursor. */
export function TimeChart(props: TimeChartProps) {
  const { times, series } = props;
  const zone = useZone();
  const [hovered, setHovered] = useState<number | null>(null);
  const shape = props.bucket === 'day' ? 'longDay' : 'minute';
  const timeLabel = (at: number) =>
    formatTime(times[at]! * 1000, shape, props.bucket === 'day' ? 'utc' : zone);
  return (
    <Figure
      label={props.label}
      series={series}
      count={times.length}
      hovered={hovered}
      rowLabel={timeLabel}
      format={props.format}
    >
      <Drawing {...props} zone={zone} onHover={setHovered} />
    </Figure>
  );
}

/** Apart from the figure around it, which takes it away while it shows a table and must get it back drawn. */
function Drawing({
  zone,
  onHover,
  ...props
}: TimeChartProps & { zone: Zone; onHover: (at: number | null) => void }) {
  const { times, series, bars = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const theme = useShownTheme();
  const [Plot, setPlot] = useState<Plot | null>(null);
  const [isMissing, setIsMissing] = useState(false);
  useEffect(() => {
    loadPlot().then(
      (loaded) => setPlot(() => loaded),
      () => setIsMissing(true),
    );
  }, []);
  const data = useMemo(
    () => [[...times], ...drawnValues(series, bars).reverse()] as uPlot.AlignedData,
    [times, series, bars],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: colours come with the theme, everything else with the data
  useEffect(() => {
    const element = place.current;
    if (!element || !Plot) return undefined;
    const plot = new Plot(plotOptions(Plot, props, zone, element.clientWidth, onHover), data, element);
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [Plot, data, zone, theme, bars]);
  const look = Plot ? 'overflow-hidden' : isMissing ? 'text-muted' : 'skeleton';
  return (
    <div ref={place} className={look} style={{ height: HEIGHT_PX }}>
      {isMissing && 'The chart could not be loaded. Its figures are in the table.'}
    </div>
  );
}
