import { catalogOperations, deploymentOperations } from "./catalog.ts";
import { dataPlaneOperations, modelListOperations } from "./data-plane.ts";
import type { Operation } from "./operation.ts";
import { operationalOperations } from "./operational.ts";
import { peopleOperations } from "./people.ts";
import { relayOperations } from "./relay.ts";
import { selfServiceOperations } from "./self-service.ts";
import { signInOperations } from "./sign-in.ts";
import { adminReportOperations, statisticsOperations } from "./statistics.ts";

/** Every route that is served, in the order of the document. A test holds it to the live route table. */
export const OPERATIONS: readonly Operation[] = [
  ...dataPlaneOperations,
  ...modelListOperations,
  ...relayOperations,
  ...signInOperations,
  ...selfServiceOperations,
  ...statisticsOperations,
  ...catalogOperations,
  ...deploymentOperations,
  ...peopleOperations,
  ...adminReportOperations,
  ...operationalOperations,
];
