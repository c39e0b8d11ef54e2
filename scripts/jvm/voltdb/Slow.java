import org.voltdb.SQLStmt;
import org.voltdb.VoltProcedure;
import org.voltdb.VoltTable;

/** A procedure that keeps its site for some microseconds. */
public class Slow extends VoltProcedure {
    public final SQLStmt change = new SQLStmt("UPDATE item SET v = v + 1 WHERE id = ?");

    public VoltTable[] run(int id, long microseconds) {
        voltQueueSQL(change, id);
        VoltTable[] result = voltExecuteSQL(true);
        try {
            Thread.sleep(microseconds / 1000, (int) (microseconds % 1000) * 1000);
        } catch (InterruptedException e) {
            throw new VoltAbortException(e);
        }
        return result;
    }
}
