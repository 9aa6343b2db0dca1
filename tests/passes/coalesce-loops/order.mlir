// adc opt --passes=coalesce-loops,tidy
// The rows are gone through in order, and only the elements of one in any: the one loop is not said to be unordered.
// The second nest is.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %y, 0 : memref<?x?xf64>
  %l = memref.dim %y, 1 : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i, %j] : memref<?x?xf64>
      scf.yield
    } {adc.unordered = true}
    scf.yield
  }
  scf.for %i = %c0 to %k step %c1 {
    scf.for %j = %c0 to %l step %c1 {
      %a = memref.load %y[%i, %j] : memref<?x?xf64>
      %b = math.sin %a : f64
      memref.store %b, %y[%i, %j] : memref<?x?xf64>
      scf.yield
    } {adc.unordered = true}
    scf.yield
  } {adc.unordered = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?x?xf64>
  %m = memref.dim %x, 1 : memref<?x?xf64>
  %k = memref.dim %y, 0 : memref<?x?xf64>
  %l = memref.dim %y, 1 : memref<?x?xf64>
  %0 = arith.muli %n, %m : index
  %1 = adc.reshape %x[%0] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  scf.for %j = %c0 to %0 step %c1 {
    %a = memref.load %1[%j] : memref<?xf64>
    %b = math.sin %a : f64
    memref.store %b, %1[%j] : memref<?xf64>
    scf.yield
  }
  %2 = arith.muli %k, %l : index
  %3 = adc.reshape %y[%2] {groups = [[2, 1]]} : memref<?x?xf64> to memref<?xf64>
  scf.for %j_0 = %c0 to %2 step %c1 {
    %a_0 = memref.load %3[%j_0] : memref<?xf64>
    %b_0 = math.sin %a_0 : f64
    memref.store %b_0, %3[%j_0] : memref<?xf64>
    scf.yield
  } {adc.unordered = true}
  func.return
}
