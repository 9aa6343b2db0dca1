// adc opt --passes=forward-pieces,tidy,split-index-sets,tidy,dead-stores,dce
// Neighbours in an array that is put together from two parts of another: they are read in the other one, and the loop is cut.

func.func @f(%u: memref<?xf64>, %v: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  %rest = arith.maxsi %last, %c0 : index
  %some = arith.cmpi sgt, %n, %c0 : index
  %up = memref.alloc(%n) : memref<?xf64>
  scf.if %some {
    %a = memref.load %u[%c0] : memref<?xf64>
    memref.store %a, %up[%c0] : memref<?xf64>
    scf.yield
  }
  scf.parallel (%i) = (%c0) to (%rest) step (%c1) {
    %b = memref.load %u[%i] : memref<?xf64>
    %next = arith.addi %i, %c1 : index
    memref.store %b, %up[%next] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %c = memref.load %up[%j] : memref<?xf64>
    memref.store %c, %v[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%u: memref<?xf64>, %v: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %u, 0 : memref<?xf64>
  %0 = arith.cmpi sgt, %n, %c0 : index
  scf.if %0 {
    %a = memref.load %u[%c0] : memref<?xf64>
    memref.store %a, %v[%c0] : memref<?xf64>
    scf.yield
  }
  scf.parallel (%j) = (%c1) to (%n) step (%c1) {
    %1 = arith.addi %j, %c-1 : index
    %b = memref.load %u[%1] : memref<?xf64>
    memref.store %b, %v[%j] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
