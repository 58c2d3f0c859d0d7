-- Limits count what ended without its usage by the day of its end. 32 days hold every window that is counted by days.
ALTER TABLE carried_total ADD COLUMN unknown_requests double precision NOT NULL DEFAULT 0;
--> statement-breakpoint
UPDATE carried_total SET unknown_requests = found.unknown
FROM (
  SELECT floor((e.id + e.duration_us) / 86400000000)::integer AS ended_day, e.id / 86400000000 AS arrived_day, e.combination, e.lane,
    count(*) AS unknown
  FROM event AS e JOIN manner ON manner.id = e.manner JOIN result ON result.id = manner.result
    JOIN combination ON combination.id = e.combination
  WHERE combination.shape IS NULL
    AND (result.outcome = 'ok' AND result.status_code BETWEEN 200 AND 299
      OR result.outcome = 'cancelled' AND (result.status_code BETWEEN 200 AND 299 OR result.status_code = 499))
    AND floor((e.id + e.duration_us) / 86400000000) <> e.id / 86400000000
    AND e.id >= (SELECT max(id) FROM event) - 32 * 86400000000
  GROUP BY 1, 2, 3, 4
) AS found
WHERE found.ended_day = carried_total.ended_day AND found.arrived_day = carried_total.arrived_day
  AND found.combination = carried_total.combination AND found.lane = carried_total.lane;
