import { existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { JOURNAL_NAME, SPOOL_NAME } from "#storage/files/data-files.ts";
import { toFailure, toWarning, type Check } from "./check.ts";

/**
 * What is said of a data folder that is not this user's, and of what is in it and is not its owner's, as commands of root
 * have left it: root notices nothing of either. Null when there is nothing to say.
 */
export function findOwnerCheck(name: string, dataDir: string): Check | null {
  // Windows has no such owners.
  const uid = process.getuid?.() ?? null;
  const folder = statSync(dataDir);
  if (uid === null) return null;
  if (uid !== 0 && uid !== folder.uid) {
    const finding = `${dataDir} belongs to uid ${folder.uid}, and this user is uid ${uid}`;
    const advice = `Run as its owner (sudo -u '#${folder.uid}' …), or give it to this user: chown -R ${uid} ${dataDir}`;
    return toWarning(name, finding, advice);
  }
  // What another user's own file is to this one is a question of rights.
  if (uid !== 0) return null;
  const foreign = listFiles(dataDir)
    .map((path) => ({ path, uid: lstatSync(path).uid }))
    .find((file) => file.uid !== folder.uid);
  if (foreign === undefined) return null;
  const finding = `${foreign.path} belongs to uid ${foreign.uid}, and the folder ${dataDir} to uid ${folder.uid}`;
  // Root may use what is others': the server's user is then not known.
  return folder.uid === 0
    ? toWarning(name, finding, `Give all of it to the user that the server runs as: chown -R USER ${dataDir}`)
    : toFailure(
        name,
        finding,
        `Give it to the folder's owner: chown -R ${folder.uid}:${folder.gid} ${dataDir}`,
      );
}

function listFiles(dataDir: string): readonly string[] {
  const journals = [JOURNAL_NAME, SPOOL_NAME]
    .map((name) => join(dataDir, name))
    .filter((path) => existsSync(path) && statSync(path).isDirectory());
  return [dataDir, ...journals].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
}
