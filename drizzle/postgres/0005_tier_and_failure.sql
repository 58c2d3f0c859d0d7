ALTER TABLE combination ADD COLUMN tier text COLLATE "C";
--> statement-breakpoint
ALTER TABLE result ADD COLUMN failure text COLLATE "C";
--> statement-breakpoint
DROP INDEX result_once;
--> statement-breakpoint
CREATE UNIQUE INDEX result_once ON result (outcome, coalesce(error_kind, ''), status_code, coalesce(failure, ''));
--> statement-breakpoint
-- Relayed requests that only asked or counted: until now nothing told them from those that did not tell their usage.
UPDATE combination SET shape = 'exclusive' WHERE shape IS NULL AND provider_id = 'transparent:messages'
  AND (endpoint LIKE '%/count_tokens' OR endpoint LIKE '/v1/models%' OR endpoint LIKE '/api/event_logging/%');
