#pragma once

#include "base/result.h"
#include "ledger/database.h"
#include "ledger/store.h"

namespace sluice {

// Whose a store's folder of files is: FILES/store names the store by its id and its file's name.

// Fails with failed_precondition if the folder is of another store that is still there. A folder
// whose store is gone, or was replaced by this one, may be taken over.
Status CheckFilesOwner(const StorePaths& paths);
// Writes down that the folder is of this store, which is open.
Status OwnFiles(const StorePaths& paths, Database& database);

// Makes the folders that a store needs, and sees that they are ours: no link that another user could
// have put there is followed, the folder of lock and socket is for nobody else, and others write to
// neither.
Status MakeOwnFolders(const StorePaths& paths);

}  // namespace sluice
