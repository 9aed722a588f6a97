#pragma once

#include "base/result.h"
#include "ledger/database.h"
#include "ledger/store.h"

namespace sluice {

// Which store owns a folder of files: FILES/store names the owner by its id and its file's name.

// Fails with failed_precondition if the folder belongs to another store that still exists. This
// store may take the folder over if the owner's file is gone, or if this store has the owner's file
// name or id.
Status CheckFilesOwner(const StorePaths& paths);
// Records this store, which is open, as the owner of the folder.
Status OwnFiles(const StorePaths& paths, Database& database);

// Makes the folders that a store needs, and checks that they belong to this user or to root. Fails
// if one of them is a link that another user made. The folder of lock and socket is closed to all
// other users. The other folders cannot be written by users outside their group.
Status MakeOwnFolders(const StorePaths& paths);

}  // namespace sluice
