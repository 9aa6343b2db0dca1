// adc opt --passes=split-index-sets,tidy
// The loop is cut where a neighbour is clamped, not after the first period of a parity, which is two points.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c1 : index
    %right = arith.minsi %last, %next : index
    %parity = arith.remsi %next, %c2 : index
    %a = memref.load %x[%right] : memref<?xf64>
    %b = memref.load %x[%parity] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.addi %n, %c-1 : index
  scf.for %i = %c0 to %last step %c1 {
    %next = arith.addi %i, %c1 : index
    %parity = arith.remsi %next, %c2 : index
    %a = memref.load %x[%next] : memref<?xf64>
    %b = memref.load %x[%parity] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %y[%i] : memref<?xf64>
    scf.yield
  }
  %0 = arith.cmpi sgt, %n, %c0 : index
  scf.if %0 {
    %parity_0 = arith.remsi %n, %c2 : index
    %a_0 = memref.load %x[%last] : memref<?xf64>
    %b_0 = memref.load %x[%parity_0] : memref<?xf64>
    %s_0 = arith.addf %a_0, %b_0 : f64
    memref.store %s_0, %y[%last] : memref<?xf64>
    scf.yield
  }
  func.return
}
