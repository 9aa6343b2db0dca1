// adc opt --passes=count-steps{roots=f}
// Of what a call of @f runs, the outermost loops that run in order are counted: not those inside, and none that is parallel.

func.func @f(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    scf.for %i = %c1 to %n step %c1 {
      %before = arith.subi %i, %c1 : index
      %y = memref.load %x[%before] : memref<?xf64>
      memref.store %y, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    scf.for %i = %c1 to %n step %c1 {
      %before = arith.subi %i, %c1 : index
      %y = memref.load %x[%before] : memref<?xf64>
      memref.store %y, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } {adc.counted = ["forward", false]}
  func.return
}
