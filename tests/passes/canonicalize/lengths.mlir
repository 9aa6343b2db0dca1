// adc opt --passes=canonicalize,dce
// The lengths of the first elements and of the rest of an array add up to its length; in a loop over it, it is not empty.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %first = arith.minsi %n, %c2 : index
  %left = arith.subi %n, %c2 : index
  %rest = arith.maxsi %left, %c0 : index
  %all = arith.addi %first, %rest : index
  %others = arith.subi %n, %first : index
  %last = arith.subi %n, %rest : index
  %one = arith.minsi %n, %c1 : index
  scf.for %i = %c1 to %n step %c1 {
    %at = arith.subi %i, %one : index
    %v = memref.load %x[%at] : memref<?xf64>
    memref.store %v, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return %all, %others, %last : index, index, index
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c-2 = arith.constant -2 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.addi %n, %c-2 : index
  %others = arith.maxsi %0, %c0 : index
  %last = arith.minsi %n, %c2 : index
  scf.for %i = %c1 to %n step %c1 {
    %at = arith.addi %i, %c-1 : index
    %v = memref.load %x[%at] : memref<?xf64>
    memref.store %v, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return %n, %others, %last : index, index, index
}
